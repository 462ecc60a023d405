"""What a person sees of an agent: its words as they come, a line for each tool, how full the window is."""
