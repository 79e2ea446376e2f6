import type { Reader } from '../../platform/settings/reader.ts';
import { wholeNumber } from '../../platform/settings/values.ts';

declare module '../../core/features/node-settings.ts' {
  interface NodeSettings extends ImportSettings {}
}

type ImportSettings = Readonly<ReturnType<typeof readImportSettings>>;

export function readImportSettings(reader: Reader) {
  return {
    /** The largest archive that an import reads. */
    importMaxBytes: reader.read('PARLEY_IMPORT_MAX_BYTES', wholeNumber(1, 1024 ** 4), 5 * 1024 ** 3),
  };
}
