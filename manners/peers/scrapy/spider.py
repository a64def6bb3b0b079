"""Follows every link within the hosts of the seeds."""

from pathlib import Path
from urllib.parse import urlsplit

from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class MannersSpider(CrawlSpider):
    name = "manners"
    rules = [Rule(LinkExtractor(), follow=True)]

    def __init__(self, seeds, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = Path(seeds).read_text().split()
        self.allowed_domains = sorted({urlsplit(u).hostname for u in self.start_urls})
