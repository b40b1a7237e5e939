"""A client of OpenAI servers, and what the commands that ask them have in common."""
