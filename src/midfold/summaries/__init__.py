"""What a summary says: the facts of the folded turns, the prompt for a model, and the check of its answer.

Pure, as the fold is. A summary is written from the ledger of what happened; a model's words are judged and
checked against it, and where there is no model the digest is made of it alone.
"""
