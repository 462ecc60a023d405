"""Parts that several tests share: a second store, clients that send their history again, a small proxy."""
