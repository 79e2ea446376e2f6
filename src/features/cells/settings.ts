import type { Reader } from '../../platform/settings/reader.ts';
import { ORIGINS } from '../../platform/settings/values.ts';

declare module '../../core/features/node-settings.ts' {
  interface NodeSettings extends CellSettings {}
}

type CellSettings = Readonly<ReturnType<typeof readCellSettings>>;

export function readCellSettings(reader: Reader) {
  return {
    /** The public URLs of the other installations that accounts move between. */
    cells: reader.read('PARLEY_CELLS', ORIGINS, []),
  };
}
