"""What the model may do, within bounds that the tools keep by themselves."""
