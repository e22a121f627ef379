"""What each promise costs, and what it gives the worst-off, on people and tasks to come."""
