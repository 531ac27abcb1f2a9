// Does the jobs that bridge.mjs has handed over: the difference between two versions.
//
// It fetches both versions, and stores their difference in the store.  A job that fails is
// tried again by BullMQ; one that was done already changes nothing.
import { Worker } from 'bullmq';
import { connectPool, onEnd, redisOptions } from './settings.mjs';

const pool = connectPool(4);

// A version id is {documentId}@{number}.
const numberOf = versionId => Number(versionId.split('@')[1]);

async function makeDiff({ data: { documentId, oldVersionId, newVersionId } }) {
    const versions = [documentId, numberOf(oldVersionId), numberOf(newVersionId)];
    const { rows } = await pool.query('SELECT dms.diff_versions($1, $2, $3) AS diff', versions);

    if (process.env.WORKER_FAILS !== undefined)
        throw new Error('WORKER_FAILS is set');
    if (rows[0].diff === null)
        return 'a version was purged meanwhile';
    await pool.query('SELECT dms.store_diff($1, $2, $3, $4)', [...versions, JSON.stringify(rows[0].diff)]);
    return 'stored';
}

const worker = new Worker('documents', makeDiff, {
    connection: { ...redisOptions, maxRetriesPerRequest: null },
    concurrency: 4,
});

worker.on('failed', (job, error) => console.error(`worker: ${job?.id}: ${error.message}`));
worker.on('error', error => console.error(`worker: ${error.message}`));
onEnd(async () => {
    await worker.close();
    await pool.end();
});
console.log('worker: running');
