import { type Static, Type } from 'typebox';
import { describe, Timestamp } from '../schema/schema.ts';

/** A file that an agent made in a run, with the tool `create_artifact`. */
export const Artifact = Type.Object({
  id: Type.String(),
  object: Type.Literal('artifact'),
  run_id: Type.String(),
  filename: Type.String(),
  content_type: Type.String(),
  size_bytes: Type.Integer({ minimum: 0 }),
  url: Type.String(),
  created_at: Timestamp,
});
export type Artifact = Static<typeof Artifact>;

describe(Artifact, {
  run_id: 'The run that made the file.',
  filename: 'Name of the file.',
  content_type: 'MIME type of the file.',
  size_bytes: 'Size of the file in bytes.',
  url: 'Time-limited address to download the file from.',
});
