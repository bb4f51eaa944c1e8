"""In, Shin and Kim, search-while-load demand paging, LCTES 2007."""
