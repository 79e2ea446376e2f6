import { useEffect, useState, useSyncExternalStore } from 'react';
import { type ChosenFile, type UploadRules, Uploads } from '../../writing/uploads.ts';

/** Returns the files of one composer, which end with it. */
export function useUploads(rules: UploadRules): {
  readonly uploads: Uploads;
  readonly files: readonly ChosenFile[];
} {
  const [uploads] = useState(() => new Uploads(rules));
  uploads.rules = rules;
  const files = useSyncExternalStore(uploads.follow, uploads.files, uploads.files);
  useEffect(() => () => uploads.clear(), [uploads]);
  return { uploads, files };
}
