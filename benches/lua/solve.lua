-- Solves the queens problem with coroutines, metatables, a queue, and some floating point.
local Queue = {}
Queue.__index = Queue
function Queue.new() return setmetatable({first = 1, last = 0}, Queue) end
function Queue:push(v) self.last = self.last + 1; self[self.last] = v end
function Queue:pop() local v = self[self.first]; self[self.first] = nil; self.first = self.first + 1; return v end
local function queens(n)
  return coroutine.wrap(function()
    local cols, up, down, at = {}, {}, {}, {}
    local function place(r)
      if r > n then coroutine.yield(table.concat(at, ",")) return end
      for c = 1, n do
        if not (cols[c] or up[r + c] or down[r - c]) then
          cols[c], up[r + c], down[r - c], at[r] = true, true, true, c
          place(r + 1)
          cols[c], up[r + c], down[r - c] = nil, nil, nil
        end
      end
    end
    place(1)
  end)
end
local n, q = 0, Queue.new()
for s in queens(tonumber(arg[1])) do n = n + 1; q:push(s) end
local sum = 0.0
while q.first <= q.last do
  local s = q:pop()
  local first = s:match("^(%d+)")
  sum = sum + math.sqrt(tonumber(first)) / #s
end
print(n, string.format("%.6f", sum))
