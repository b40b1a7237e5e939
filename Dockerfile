# docker build -t hubserve .
# docker run -p 8000:8000 -v hubserve-cache:/cache hubserve unsloth/Qwen3.5-4B-GGUF:Qwen3.5-4B-Q4_K_M.gguf

FROM python:3.12-bookworm AS build
WORKDIR /opt/hubserve
COPY . .
# For any processor of the kind: the image is run elsewhere than it is built.
RUN scripts/install --portable

FROM python:3.12-slim-bookworm
# llama.cpp's threads come from OpenMP's runtime, which the small image lacks.
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home --uid 1000 hubserve && install --directory --owner=hubserve /cache
# The same path as above: an editable install and the scripts of a virtual environment name it.
COPY --from=build /opt/hubserve /opt/hubserve
ENV PATH=/opt/hubserve/.venv/bin:$PATH HF_HOME=/cache/huggingface PYTHONUNBUFFERED=1
VOLUME /cache
USER hubserve
EXPOSE 8000
# While a model is fetched and loaded /health says 503, which is no fault yet.
HEALTHCHECK --start-period=30m --interval=30s --timeout=5s CMD ["/opt/hubserve/scripts/healthcheck"]
ENTRYPOINT ["serve", "--host", "0.0.0.0"]
CMD ["--help"]
