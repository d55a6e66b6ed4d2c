"""HTTP: the gateways of AWS, answers, FastAPI, documents and the page."""
