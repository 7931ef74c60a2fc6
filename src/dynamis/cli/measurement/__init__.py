"""Commands for what is measured at an arm."""
