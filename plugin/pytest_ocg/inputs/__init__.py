"""What is asked: concept sets, prompts, cases, models, and the numbers that the paper published."""
