"""The burnpack container: header, metadata, reader, writer."""
