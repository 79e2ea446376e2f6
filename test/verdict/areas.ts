/**
 * Groups of areas that many tests name together as without influence on what they assert. A test
 * writes the name of a group, or paths, in its first comment: `Without influence: PAGES,
 * src/features/mail.`
 */
export const AREAS: Readonly<Record<string, readonly string[]>> = {
  /** Commands of operators, several processes, and the data of the demo account. */
  OPERATION: [
    'src/app/admin',
    'src/app/demo',
    'src/app/supervise.ts',
    'src/app/supervisor',
    'src/app/tail.ts',
    'src/core/registration',
  ],
  /** Features, and documents, that do nothing while messages are sent and read. */
  ASIDE: [
    'src/features/cells',
    'src/features/customer-cards',
    'src/features/questions',
    'src/features/identity',
    'src/features/import',
    'src/features/mcp',
    'src/features/platform-events',
    'src/features/search',
    'src/api/documents/pages',
    'src/core/documents',
  ],
  /** Code that runs in browsers. */
  PAGES: ['packages/console', 'packages/ui', 'packages/widget', 'src/edge/console', 'src/features/widgets'],
  /** How an agent comes to its answer. */
  ANSWERS: [
    'src/features/agents/models',
    'src/features/agents/replies',
    'src/features/agents/runs',
    'src/features/agents/tools',
  ],
};
