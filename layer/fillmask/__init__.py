"""Chinese fill-mask and text embeddings from one INT8 BERT file, without a server.

layer/README.md lists the modules in reading order. Nothing here reads the environment, and nothing
imports boto3 or FastAPI on the way to a first answer.
"""
