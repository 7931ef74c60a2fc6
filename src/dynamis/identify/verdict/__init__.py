"""Trust in a log and its estimate: findings, causes that are tried, the verdict."""
