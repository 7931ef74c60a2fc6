"""The mathematics, one algorithm per page, over any scalar."""
