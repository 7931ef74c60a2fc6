"""Contacts of an arm with what stands around it: points, impulses, one step with both, history."""
