"""SQS: messages in, results out."""
