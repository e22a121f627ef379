"""Where people's data are: features and labels in memory, in a file, on a GPU, on a cluster."""
