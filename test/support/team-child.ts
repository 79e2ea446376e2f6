/** Follows the team of a group until a test kills it. `node team-child.ts <url> <group id>` */

import { HOOKS } from '../../src/app/features.ts';
import { followTeam } from '../../src/core/conversations/cases/follow-team.ts';
import { openDatabase } from '../../src/platform/db/connection/database.ts';
import { createLog } from '../../src/platform/log.ts';

const [url = '', groupId = ''] = process.argv.slice(2);
const database = await openDatabase({ url, log: createLog('silent'), hooks: HOOKS });
await followTeam(database, { group_id: groupId });
await database.close();
