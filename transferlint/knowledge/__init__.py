"""What APIs do with data and places: frozen tables, each row with the documentation it rests on. Data, not code."""
