-- Counts the words of a text, sorts them, and writes a table of them as text and back.
local seed, lines = tonumber(arg[1]), tonumber(arg[2])
math.randomseed(seed)
local syllables = {"ka", "ro", "min", "te", "lu", "san", "der", "vo", "pi", "quen"}
local function word()
  local t = {}
  for i = 1, math.random(1, 3) do t[i] = syllables[math.random(#syllables)] end
  return table.concat(t)
end
local text = {}
for i = 1, lines do
  local line = {}
  for j = 1, math.random(3, 9) do line[j] = word() end
  text[i] = table.concat(line, " ") .. (i % 7 == 0 and "; " or ". ")
end
local counts = {}
for w in table.concat(text, "\n"):gmatch("%a+") do counts[w] = (counts[w] or 0) + 1 end
local names = {}
for w in pairs(counts) do names[#names + 1] = w end
table.sort(names, function(a, b)
  if counts[a] ~= counts[b] then return counts[a] > counts[b] end
  return a < b
end)
local out = {"return {"}
for _, w in ipairs(names) do out[#out + 1] = string.format("  [%q] = %d,", w, counts[w]) end
out[#out + 1] = "}"
local again = load(table.concat(out, "\n"))()
local sum = 0
for w, n in pairs(again) do assert(counts[w] == n); sum = sum + n * #w end
print(#names, sum, string.rep("=", 10))
