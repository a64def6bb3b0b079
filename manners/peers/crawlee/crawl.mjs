// Usage: crawl.mjs SEEDS_FILE, with AGENT, MODE and perhaps http_proxy set. Follows every link within the seeds' hosts.
import { readFile } from 'node:fs/promises';
import { CheerioCrawler, ProxyConfiguration } from '@crawlee/cheerio';

const seeds = (await readFile(process.argv[2], 'utf8')).split(/\s+/).filter(Boolean);
const { AGENT, MODE, http_proxy: proxy } = process.env;
const hosts = new Set(seeds.map((seed) => new URL(seed).hostname));

const crawler = new CheerioCrawler({
    respectRobotsTxtFile: MODE === 'robots' && { userAgent: AGENT },
    sameDomainDelaySecs: 1,
    proxyConfiguration: proxy ? new ProxyConfiguration({ proxyUrls: [proxy] }) : undefined,
    preNavigationHooks: [
        (_, options) => {
            // Without this Crawlee sends the headers of a browser.
            options.useHeaderGenerator = false;
            options.headers = { ...options.headers, 'User-Agent': AGENT };
        },
    ],
    requestHandler: ({ enqueueLinks }) =>
        enqueueLinks({
            strategy: 'all',
            transformRequestFunction: (request) => hosts.has(new URL(request.url).hostname) && request,
        }),
});
process.once('SIGTERM', () => crawler.stop());
await crawler.run(seeds);
