"""Tables of what chips showed: tallies of records, three kinds of table, five ways to print them."""
