@REMARKS@failed = 0;
@CALLS@
if failed
    error('FAILED');
end
disp('passed');
