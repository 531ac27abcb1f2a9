// The API of the document system.
//
//     node server.mjs [PORT]      8080; 0: any that is free
//
//     POST   /documents                     create: {"title", "content"}
//     PUT    /documents/{id}                update; If-Match: "version"
//     DELETE /documents/{id}
//     GET    /documents/{id}                the latest version, from Redis or the store;
//                                           ?asOf=time: the one of that time
//     GET    /documents/{id}/versions       all versions; /versions/{n}: one of them;
//                                           /versions/{n}/diff?from=m: what changed
//     GET    /documents/{id}/changes        what changed from version to version
//     GET    /documents?q=words             search
//     GET    /                              a page that does all that
//
// All but the latest version is answered by the store: a request is one call of
// dms.process_request(), which commits before it returns.  Then the cache is set, and then
// the client is answered.  So nobody who was told of a version finds an earlier one.
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { Cache } from './cache.mjs';
import { connectPool, onEnd } from './settings.mjs';

const MAX_BODY = 16 * 1024 * 1024;
const PATH = /^\/documents(?:\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(\/(?:versions(?:\/\d+(?:\/diff)?)?|changes))?)?$/;
const PASSED = ['content-type', 'if-match', 'if-none-match', 'idempotency-key', 'x-correlation-id'];

const cache = new Cache();
const pool = connectPool(16);

async function readBody(request) {
    const parts = [];
    let length = 0;

    for await (const part of request) {
        length += part.length;
        if (length > MAX_BODY)
            return undefined;
        parts.push(part);
    }
    return Buffer.concat(parts).toString('utf8') || null;
}

// The store wants the id of a document in the body of an update.
function withId(body, id) {
    try {
        return JSON.stringify({ ...JSON.parse(body), id });
    } catch {
        return body;
    }
}

// Let the store answer.
async function ask(request, path, body) {
    const headers = Object.fromEntries(PASSED.filter(name => name in request.headers)
        .map(name => [name, request.headers[name]]));
    const { rows } = await pool.query('CALL dms.process_request($1, $2, $3, $4)',
        [request.method, path, JSON.stringify(headers), body]);

    return rows[0];
}

// The number in an ETag.
const versionOf = answer => Number(answer.headers.ETag?.replaceAll('"', ''));

// Bring the cache up to date after a write that has committed.
async function afterWrite(method, id, answer) {
    const version = versionOf(answer);

    if (method === 'DELETE')
        await cache.setDeleted(id, version + 1);
    else
        await cache.refresh(pool, id);
    return JSON.stringify({ documentId: id, version });
}

function send(response, status, headers, body) {
    response.writeHead(status, headers).end(status === 204 || status === 304 ? undefined : body ?? '');
}

async function getLatest(request, response, id) {
    const { text, from } = await cache.latest(pool, id);

    if (text === null)
        return send(response, 404, {});
    const etag = `"${JSON.parse(text).version}"`;
    const status = request.headers['if-none-match'] === etag ? 304 : 200;

    return send(response, status, { 'Content-Type': 'application/json; charset=utf-8', ETag: etag, 'X-From': from }, text);
}

async function answerDocuments(request, response, url, [, id, rest = '']) {
    if (request.method === 'GET' && id && !rest && !url.search)
        return getLatest(request, response, id);
    const body = await readBody(request);

    if (body === undefined || body?.includes('\0'))
        return send(response, body === undefined ? 413 : 400, {});
    const answer = await ask(request, `/docs/documents${id ? `/${id}` : ''}${rest}${url.search}`,
        request.method === 'PUT' ? withId(body, id) : body);

    if (request.method === 'GET' || answer.status >= 300)
        return send(response, answer.status, answer.headers, answer.body);
    const written = id ?? answer.headers.Location.split('/').at(-1);
    const text = await afterWrite(request.method, written, answer);

    return send(response, answer.status === 201 ? 201 : 200, {
        'Content-Type': 'application/json; charset=utf-8', ETag: answer.headers.ETag, Location: `/documents/${written}`,
    }, text);
}

async function answer(request, response) {
    if (!URL.canParse(request.url, 'http://localhost'))
        return send(response, 400, {});
    const url = new URL(request.url, 'http://localhost');
    const match = PATH.exec(url.pathname);

    if (match)
        return answerDocuments(request, response, url, match);
    if (url.pathname !== '/' || request.method !== 'GET')
        return send(response, 404, {});
    return send(response, 200, { 'Content-Type': 'text/html; charset=utf-8' },
        await readFile(new URL('page.html', import.meta.url)));
}

const server = createServer((request, response) => answer(request, response).catch(error => {
    console.error(`${request.method} ${request.url}: ${error.message}`);
    if (!response.headersSent)
        send(response, 503, { 'Retry-After': '1' });
}));

server.listen(Number(process.argv[2] ?? 8080), '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`));
onEnd(() => {
    server.close();
    cache.end();
    return pool.end();
});
