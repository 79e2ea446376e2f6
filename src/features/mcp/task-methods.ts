import type { Result, Server, ServerContext, StandardSchemaV1 } from '@modelcontextprotocol/server';
import type { CallOptions, EndpointCalls } from './endpoint-calls.ts';
import { cancelTask, getTask, TASKS, updateTask } from './run-tasks.ts';
import { capabilitiesOf, type Guarded, takes } from './tool-calls.ts';

type Library = typeof import('@modelcontextprotocol/server');

/** Adds the methods of the extension of tasks, of which the library knows the names alone. */
export function addTaskMethods(
  library: Library,
  server: Server,
  calls: EndpointCalls,
  guarded: Guarded,
): void {
  const handle = (
    method: string,
    work: (taskId: string, options: CallOptions, context: ServerContext) => Promise<Result>,
  ) =>
    server.setRequestHandler(method, { params: TASK_PARAMS }, ({ taskId }, context) => {
      requireTasks(library, context);
      return guarded(context, (options) => work(taskId, options, context));
    });
  handle('tasks/get', (taskId, options, context) => {
    const asks = capabilitiesOf(context)?.elicitation !== undefined;
    return getTask(calls, taskId, options, asks);
  });
  handle('tasks/update', async (taskId, options, { mcpReq: { inputResponses = {} } }) => {
    await updateTask(calls, taskId, inputResponses, options);
    return {};
  });
  handle('tasks/cancel', async (taskId, options) => {
    await cancelTask(calls, taskId, options);
    return {};
  });
}

function requireTasks(library: Library, context: ServerContext): void {
  if (takes(context, TASKS)) return;
  const requiredCapabilities = { extensions: { [TASKS]: {} } };
  throw new library.MissingRequiredClientCapabilityError({ requiredCapabilities });
}

interface TaskParams {
  readonly taskId: string;
}

/** The library takes `inputResponses` out of the parameters, into the context. */
const TASK_PARAMS: StandardSchemaV1<TaskParams> = {
  '~standard': {
    version: 1,
    vendor: 'parley',
    validate(input) {
      if (typeof (input as { taskId?: unknown }).taskId === 'string') return { value: input as TaskParams };
      return { issues: [{ message: 'taskId must be a string' }] };
    },
  },
};
