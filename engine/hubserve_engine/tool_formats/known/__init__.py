"""One format a module. Sources: the templates in `models/templates` of llama.cpp (the version in
llama-cpp-python 0.3.36), which say what models were trained to write."""
