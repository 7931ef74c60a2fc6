"""The server of the studio: port, guard, sessions, uploads."""
