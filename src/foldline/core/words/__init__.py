"""Words and letters: text in plain forms, names in it, marks around it, secrets in it."""
