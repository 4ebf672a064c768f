import { createHash, randomBytes } from 'node:crypto';
import express from 'express';
import { z } from 'zod';

const MAX_ATTEMPTS = 3;
const BEARER = /^Bearer ([\x21-\x7e]{1,300})$/i;

const publishBody = z.object({
  payload: z.record(z.unknown()),
  idempotencyKey: z.string().min(1).max(255).optional(),
  delay: z.number().min(0).max(86_400).optional(),
});

/** Publish and nothing else: the checks of the service's own route, with what Express offers. */
export function createApi({ apiKey, queue, add }) {
  const keys = new Set([hash(apiKey)]);
  const queues = new Set([queue]);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag');

  app.use((req, res, next) => {
    const key = BEARER.exec(req.headers.authorization ?? '')?.[1];
    if (key !== undefined && keys.has(hash(key))) next();
    else res.status(401).json({ error: 'missing or invalid API key' });
  });
  app.use(express.json({ limit: 1_048_576 }));

  app.post('/v1/queues/:queueName/jobs', async (req, res, next) => {
    try {
      if (!queues.has(req.params.queueName)) return void res.status(404).json({ error: 'queue not found' });
      const body = publishBody.safeParse(req.body);
      if (!body.success) return void res.status(400).json({ error: body.error.flatten() });
      const job = {
        id: randomBytes(12).toString('hex'),
        queue: req.params.queueName,
        payload: body.data.payload,
        maxAttempts: MAX_ATTEMPTS,
        createdAt: new Date().toISOString(),
      };
      await add(job, { delayMs: Math.round((body.data.delay ?? 0) * 1000) });
      res.status(201).json({ id: job.id, status: 'pending', createdAt: job.createdAt });
    } catch (error) {
      next(error);
    }
  });

  app.use((error, _req, res, _next) => {
    res.status(error.status ?? 500).json({ error: error.message });
  });
  return app;
}

function hash(key) {
  return createHash('sha256').update(key).digest('hex');
}
