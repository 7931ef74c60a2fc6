document.title = "@TITLE@";
