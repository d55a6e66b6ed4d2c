"""What remembers answers: memory, and a DynamoDB table behind it."""
