"""Usage: crawl.py SEEDS_FILE AGENT. Visits the seeds' hosts one page a second."""

import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import URLError
from urllib.parse import urldefrag, urljoin, urlsplit
from urllib.robotparser import RobotFileParser

import requests


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.found += [value for name, value in attrs if name == "href" and value]


def robots_of(url):
    parser = RobotFileParser(urljoin(url, "/robots.txt"))
    try:
        parser.read()
    except (URLError, OSError, ValueError) as error:
        print(f"robots.txt of {url}: {error}", file=sys.stderr)
    return parser


def main(seeds, agent):
    queue = Path(seeds).read_text().split()
    hosts = {urlsplit(url).netloc for url in queue}
    seen, robots = set(queue), {}
    session = requests.Session()
    session.headers["User-Agent"] = agent
    while queue:
        url = queue.pop(0)
        host = urlsplit(url).netloc
        if host not in robots:
            robots[host] = robots_of(url)
        if not robots[host].can_fetch(agent, url):
            continue
        try:
            response = session.get(url, timeout=30)
        except requests.RequestException as error:
            print(f"{url}: {error}", file=sys.stderr)
            continue
        finally:
            time.sleep(robots[host].crawl_delay(agent) or 1)
        if "html" not in response.headers.get("Content-Type", ""):
            continue
        parser = Links()
        parser.feed(response.text)
        for link in parser.found:
            try:
                link = urldefrag(urljoin(response.url, link)).url
                inside = urlsplit(link).netloc in hosts
            except ValueError:
                continue
            if inside and link not in seen:
                seen.add(link)
                queue.append(link)


if __name__ == "__main__":
    main(*sys.argv[1:])
