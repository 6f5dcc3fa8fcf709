# hush in a container: any user id, a read-only file system, state in one volume.  docs/howto/run-in-containers.md says how to use it.
FROM python:3.13-slim AS build
WORKDIR /build
COPY requirements-serve.lock ./
# the lock also holds what tests need; the image takes only what the extras ask for, at the locked versions
RUN python -m venv /opt/hush \
 && /opt/hush/bin/pip install --no-cache-dir --disable-pip-version-check "setuptools>=77" \
 && grep -E '^[A-Za-z0-9]' requirements-serve.lock | sed -e 's/ *\\$//' -e 's/\[[a-z,-]*\]//' > constraints.txt
COPY pyproject.toml README.md LICENSE ./
COPY proofs ./proofs
COPY src ./src
RUN /opt/hush/bin/pip install --no-cache-dir --disable-pip-version-check --no-build-isolation \
      --constraint constraints.txt ".[serve,postgres,office]"
# loops are compiled here and kept beside their modules, so that a read-only container starts warm
RUN /opt/hush/bin/hush selftest > /dev/null && chmod -R a+rX /opt/hush

FROM python:3.13-slim
LABEL org.opencontainers.image.title="Hushtable" org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/hush /opt/hush
ENV PATH=/opt/hush/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    XDG_CACHE_HOME=/tmp/cache \
    HOME=/tmp
# group 0 may write, as platforms that choose a user id themselves expect
RUN mkdir -p /state && chgrp 0 /state && chmod g=u /state
USER 10001:0
WORKDIR /state
VOLUME ["/state"]
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=3s --start-period=20s \
  CMD ["python", "-c", "import urllib.request as u; u.urlopen('http://127.0.0.1:8000/healthz', timeout=2)"]
ENTRYPOINT ["hush"]
CMD ["serve", "--config", "/state/hush.toml"]
