"""Chinese fill-mask and text embeddings from one INT8 BERT file, without a server.

Reading order: errors, schema, text, cache, engine, service, then the adapters http_api and queue_api.
Nothing here reads the environment or imports boto3 or FastAPI on the way to a first answer.
"""
