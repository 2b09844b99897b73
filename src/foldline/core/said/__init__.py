"""What people say: the user's own words, sentence by sentence, rules and answers among them."""
