// Writes of several clients and readers beside them, for test/t/091_documents.pl:
//
//     node load.mjs URL WRITES
//
// Each reader remembers the last version of each document that it was told of.  Prints
// how many writes there were, how often a version fell, and the last version of each
// document.
const [url, writes] = [process.argv[2], Number(process.argv[3])];
const CLIENTS = 8;
const READERS = 4;
const DOCUMENTS = 10;

let left = writes;
let done = 0;
let fell = 0;
let reads = 0;
let cached = 0;

async function send(method, path, body, headers = {}) {
    return fetch(`${url}${path}`, {
        method, headers: { 'Content-Type': 'application/json', ...headers }, body: body && JSON.stringify(body),
    });
}

const bodyOf = n => ({ title: `Note ${n}`, content: Array.from({ length: 20 }, (_, i) => `line ${(n * 7 + i) % 31}`).join('\n') });
const ids = [];

for (let i = 0; i < DOCUMENTS; i++)
    ids.push((await (await send('POST', '/documents', bodyOf(i))).json()).documentId);

async function writer() {
    const seen = {};

    while (left-- > 0) {
        const id = ids[Math.floor(Math.random() * DOCUMENTS)];
        const response = await send('PUT', `/documents/${id}`, bodyOf(Math.floor(Math.random() * 1e6)));

        if (response.status !== 200)
            throw new Error(`PUT: ${response.status} ${await response.text()}`);
        done++;
        look(seen, id, (await response.json()).version);
        await read(seen, id);
    }
}

function look(seen, id, version) {
    fell += version < (seen[id] ?? 0);
    seen[id] = Math.max(version, seen[id] ?? 0);
}

async function read(seen, id) {
    const response = await send('GET', `/documents/${id}`);

    reads++;
    cached += response.headers.get('x-from') === 'cache';
    look(seen, id, (await response.json()).version);
}

async function reader() {
    const seen = {};

    while (left > 0)
        await read(seen, ids[Math.floor(Math.random() * DOCUMENTS)]);
}

await Promise.all([...Array.from({ length: CLIENTS }, writer), ...Array.from({ length: READERS }, reader)]);
console.log(`writes ${done}, fell ${fell}`);
console.error(`reads ${reads}, of which from the cache ${cached}`);
console.log(ids.join(' '));
