"""What the robot is: frozen data that checks itself, and the files it comes from."""
