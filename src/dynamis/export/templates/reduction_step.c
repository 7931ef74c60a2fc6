    part = k * @PIECE@;
    next = high - part;
    low = low + ((high - next) - part);
    high = next;
