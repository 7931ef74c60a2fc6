document.title = @TITLE@;
