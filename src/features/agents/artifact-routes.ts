import { notFound } from '@parley/protocol/errors/errors.ts';
import { Artifact } from '@parley/protocol/resources/agent-run.ts';
import { defineRoute, type Route } from '../../api/pipeline/route.ts';
import type { NodeParts } from '../../core/features/feature.ts';
import { readablePlace } from './runs/control/access.ts';
import { findRun } from './runs/state/store.ts';
import { findArtifact } from './tools/artifact-store.ts';

/** Returns the routes of files that agents make, for callers that may read the run. */
export function artifactRoutes({
  database,
  directory,
  store,
}: Pick<NodeParts, 'database' | 'directory' | 'store'>): Route[] {
  return [
    defineRoute({
      name: 'get_artifact',
      method: 'GET',
      path: '/v1/ai/artifacts/:id',
      summary: 'Get a file that an agent made in a run',
      since: '1.2.harbor',
      permission: 'agents:run',
      response: Artifact,
      async handle({ principal, params }): Promise<Artifact> {
        const { accountId } = principal;
        const row = await findArtifact(database, accountId, params.id!);
        if (row === undefined) throw notFound('artifact', 'id');
        const run = await findRun(database, accountId, row.run_id);
        if ((await readablePlace(directory, principal, run)) === undefined) throw notFound('artifact', 'id');
        const { id, run_id, filename, content_type, size_bytes, created_at } = row;
        const url = await store.presignDownload({ key: row.s3_key, filename, contentType: content_type });
        return { id, object: 'artifact', run_id, filename, content_type, size_bytes, url, created_at };
      },
    }),
  ];
}
