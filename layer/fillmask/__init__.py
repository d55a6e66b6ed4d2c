"""Chinese fill-mask and text embeddings from one INT8 BERT file, without a server.

The README has the modules in reading order.
Nothing here reads the environment or imports boto3 or FastAPI on the way to a first answer.
"""
