"""What people read: each file renders results that were computed elsewhere."""
