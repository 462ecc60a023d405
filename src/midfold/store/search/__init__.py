"""Full-text search over everything stored: what is indexed, what is asked, and what is shown of it."""
