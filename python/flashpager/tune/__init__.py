"""One program tuned from its sources: built, recorded, placed anew, linked and verified."""
