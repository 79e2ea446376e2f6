import { ApiError, type ErrorCondition } from '@parley/protocol/errors/errors.ts';

/**
 * Returns the condition of the ApiError that `action` throws or rejects with. Any other result is
 * an error.
 */
export async function refusal(action: () => unknown): Promise<ErrorCondition> {
  return (await refused(action)).condition;
}

/** The ApiError itself. */
export async function refused(action: () => unknown): Promise<ApiError> {
  try {
    await action();
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}
